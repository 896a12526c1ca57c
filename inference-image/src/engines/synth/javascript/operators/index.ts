import type { Operator } from '../operator.ts';

/** Every operator for JavaScript and TypeScript, one file each; a new one takes part once it stands here. */
export const operators: readonly Operator[] = [];
