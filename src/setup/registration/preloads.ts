/** Flags of Node that load modules before the program. */
const FLAG = /^(?:--import|--require|-r|--(?:experimental-)?loader)(?:=(.*))?$/;

/** Modules that the command line and `NODE_OPTIONS` preload. */
export function preloads(): string[] {
  const words = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv];
  return words.flatMap((word, index) => {
    const flag = FLAG.exec(word);
    return flag === null ? [] : [flag[1] ?? words[index + 1] ?? ''];
  });
}

/** Whether we were loaded before the program, by a flag of our own or by a file of the application. */
export function isPreloaded(): boolean {
  return preloads().some((value) => value.includes('mcp-observatory') || isOwnFile(value));
}

/** Whether a value is a file, and not one of another package such as the loader of tsx. */
function isOwnFile(value: string): boolean {
  return /^(?:\.{0,2}[\\/]|file:|[a-z]:)/i.test(value) && !/[\\/]node_modules[\\/]/.test(value);
}
