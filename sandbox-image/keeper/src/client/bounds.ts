import { execBounds, maxFileBytes, maxLogBytes, maxPartsBytes, maxTreeBytes } from '@agentfleet/protocol/keeper';

/** What one answer may cost who asked: a keeper may be confused, or somebody else's. */
export interface AnswerBound {
  /** Bytes of the body. */
  readonly bytes: number;
  /** Seconds from the request to the last byte. */
  readonly seconds: number;
}

const kib = 1024;
const mib = 1024 * kib;

/** Longest line of a stream of lines, in characters. */
export const maxLineCharacters = 4 * mib;
/** Bytes of a refusal; those behind are not read. */
export const maxRefusalBytes = 64 * kib;
/** Most levels and most members, over all levels, of a JSON value: each costs far more memory than its text. */
export const jsonBounds = { depth: 32, members: 2_000_000 } as const;

/** By kind of route; the client names one with each request. The keeper's own bounds are below all of these. */
export const answerBounds = {
  /** Acknowledgements and small records. */
  small: { bytes: 256 * kib, seconds: 180 },
  /** Lists and reports whose length depends on the tree. */
  report: { bytes: 16 * mib, seconds: 300 },
  /** A restore, a snapshot, a scrub: small answers that take long. */
  work: { bytes: 16 * mib, seconds: 1800 },
  /** Differences of two trees: a member for each path. */
  diff: { bytes: 48 * mib, seconds: 300 },
  /** A manifest: a line for each path. */
  manifest: { bytes: 96 * mib, seconds: 300 },
  file: { bytes: maxFileBytes, seconds: 300 },
  parts: { bytes: maxPartsBytes, seconds: 300 },
  /** Streams that nobody holds whole. */
  exec: { bytes: 512 * mib, seconds: execBounds.maxTimeoutSeconds + 120 },
  log: { bytes: maxLogBytes, seconds: 1800 },
  spill: { bytes: execBounds.outputLimitBytes + execBounds.maxSpillBytes, seconds: 1800 },
  tree: { bytes: 2 * maxTreeBytes, seconds: 3600 },
} as const satisfies Readonly<Record<string, AnswerBound>>;
