/** Index of a value in a sorted list, or -1. */
export function findSorted(values: readonly number[], wanted: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const value = values[middle] as number;
    if (value === wanted) return middle;
    if (value < wanted) low = middle;
    else high = middle;
  }
  return -1;
}
