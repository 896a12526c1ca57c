/**
 * The HTTP routes of the keeper: bodies, tokens, errors. The work is done by other folders; the exports serve callers
 * that arrive another way through the same gate, fence, log and redaction. May import all but `app`, `mcp` and the
 * start.
 */
export { editTree, lines, list, patchFiles, replaceText, search, writeWhole } from './routes-files.ts';
export { compare, restore, take } from './routes-snapshots.ts';
export { compileCheck } from './validation.ts';
