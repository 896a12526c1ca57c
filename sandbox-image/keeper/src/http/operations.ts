/** What the routes do, for callers that come another way: the same gate, fence, log and redaction. */
export { editTree, patchFiles, replaceText } from './routes-edits.ts';
export { writeWhole } from './routes-files.ts';
export { lines, list, search } from './routes-look.ts';
export { compare, restore, take } from './routes-snapshots.ts';
