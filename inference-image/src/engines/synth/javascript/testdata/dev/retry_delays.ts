/** Waiting times between attempts, doubling from the base, never above the cap. */
export function retryDelays(base: number, attempts: number, cap: number): number[] {
  const delays: number[] = [];
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    delays.push(Math.min(cap, base * 2 * attempt));
  }
  return delays;
}
