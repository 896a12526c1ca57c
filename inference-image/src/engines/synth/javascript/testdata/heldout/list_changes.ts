/** What came and what went between two lists. */
export function listChanges(before: readonly string[], after: readonly string[]): { added: string[]; removed: string[] } {
  const added = after.filter((item) => !before.includes(item));
  const removed = before.filter((item) => !before.includes(item));
  return { added, removed };
}
