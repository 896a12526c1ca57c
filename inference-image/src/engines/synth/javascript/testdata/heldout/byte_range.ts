/** First and last byte of a request such as `0-99` or `100-`, of a file of some size. */
export function byteRange(header: string, size: number): [number, number] {
  const [start, end] = header.split('-') as [string, string];
  const first = Number(start);
  const last = Number(end) || size - 1;
  return [first, Math.min(last, size - 1)];
}
