const MAX_KEPT = 64;

/**
 * A function of a text that keeps what it made. An application has a handful of base URLs and hosts; one that makes
 * them up must not grow this for ever.
 */
export function remembered<T>(make: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined || kept.has(text)) return known as T;
    const made = make(text);
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(text, made);
    return made;
  };
}
