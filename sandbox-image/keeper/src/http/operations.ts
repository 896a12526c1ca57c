/** What the routes do, for callers that come another way: the same gate, fence, log and redaction. */
export { editTree, patchFiles, replaceText, writeWhole, lines, list, search } from './routes-files.ts';
export { compare, restore, take } from './routes-snapshots.ts';
