/** Room: a revert bundle of the keeper, run here. Imports the keeper's spelling of paths, and what reads artifacts. */
export { unpackBundle, type ChangedPath, type Description } from './bundle.ts';
export { confirm } from './confirm.ts';
export { meaningOf, runRevert, type Mode, type ScriptEnd } from './script.ts';
