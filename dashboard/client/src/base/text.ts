/** Numbers and times as people read them, and the arithmetic of shares. Pure. */

/** The time of day where the viewer is, of an RFC 3339 time; empty: it is none. */
export function clock(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleTimeString('en-GB');
}

/** Characters of a message, an answer and a reason that the API takes. */
export const longestWords = 1024;

export function ago(ms: number | undefined, now: number): string {
  return ms === undefined || Number.isNaN(ms) ? '–' : span(now - ms);
}

export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** A time to answer: ms, from ten seconds on whole seconds. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return `${ms < 10_000 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`;
}

const units = ['', ' k', ' M', ' G', ' T'];
export function short(value: number): string {
  const at = value < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** at;
  return `${scaled >= 100 || at === 0 ? Math.round(scaled) : scaled.toFixed(1)}${units[at]}`;
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
export function bytes(value: number): string {
  const at = value < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(value) / 10));
  return `${(value / 1024 ** at).toFixed(at === 0 ? 0 : 1)} ${binary[at]}`;
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;
export const money = (value: number): string => (value === 0 ? '0' : value < 0.01 ? value.toPrecision(2) : value.toFixed(2));

/** Bounds of a share at 95 %, by Wilson (1927); without trials nothing is known. */
export function wilson(hits: number, trials: number): readonly [number, number] {
  if (trials === 0) return [0, 1];
  const z = 1.96;
  const p = hits / trials;
  const under = 1 + z ** 2 / trials;
  const middle = (p + z ** 2 / (2 * trials)) / under;
  const half = (z / under) * Math.sqrt((p * (1 - p)) / trials + z ** 2 / (4 * trials ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** Counts the times that fall into each of `bins` equal parts of [from, to). */
export function binned(times: readonly number[], from: number, to: number, bins: number): readonly number[] {
  const counts = Array.from({ length: bins }, () => 0);
  for (const time of times) if (time >= from && time < to) counts[Math.floor(((time - from) / (to - from)) * bins)]! += 1;
  return counts;
}
