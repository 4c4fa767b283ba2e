const USER_INFO = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"']{1,500}@/gi;

/** A text without the user names and passwords of the URLs in it: `https://***@host/`. */
export function withoutUserInfo(text: string): string {
  return text.replace(USER_INFO, '$1***@');
}
