/** The path relative to the workspace, in NFC, without `.` and empty parts; null when it leads out. */
export function normal(path: string): string | null {
  if (path === '' || path.includes('\0')) return null;
  const inside = path.startsWith('/workspace/') ? path.slice('/workspace/'.length) : path;
  if (inside.startsWith('/')) return null;
  const parts: string[] = [];
  for (const part of inside.normalize('NFC').split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.length === 0 ? null : parts.join('/');
}

/** Returns the directories above a path, nearest last: `a/b/c` → `a`, `a/b`. */
export function parentsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}
