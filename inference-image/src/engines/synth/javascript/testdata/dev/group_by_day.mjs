/** Entries by their day, in the order in which they came. */
export function groupByDay(entries) {
  const groups = {};
  for (const entry of entries) {
    const day = entry.at.slice(0, 10);
    groups[day] = [];
    groups[day].push(entry.text);
  }
  return groups;
}
