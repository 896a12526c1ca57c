import type { FuzzCase } from './case.ts';

/** Histories that were not undone once; each run begins with them. */
export const examples: readonly FuzzCase[] = [
  // A command closes a root by a link to it: nobody but its owner could enter.
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
