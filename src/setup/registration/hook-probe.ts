/** Imported by the self-check, to see whether its hook is called. */
export const probe = true;
