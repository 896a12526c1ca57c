import type { FuzzCase } from './case.ts';

/** Histories that were not undone once; each run begins with them. */
export const examples: readonly FuzzCase[] = [
  // A command replaces a root by a link: only its owner could enter it.
  {
    setup: [
      ['write', 'workspace/file', 'one'],
      ['symlink', 'workspace/self', '.'],
    ],
    changes: [
      ['write', 'workspace/file', 'two'],
      ['chmod', 'workspace/self', 0o444],
    ],
    killAfterMs: null,
  },
];
