/**
 * The HTTP routes of the keeper: bodies, tokens, errors. What they do is done by other folders, and what is exported here serves callers
 * that come another way: the same gate, fence, log and redaction. May import all but `app`, `mcp` and the start.
 */
export { editTree, lines, list, patchFiles, replaceText, search, writeWhole } from './routes-files.ts';
export { compare, restore, take } from './routes-snapshots.ts';
export { compileCheck } from './validation.ts';
