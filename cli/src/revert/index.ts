/** A revert bundle of the keeper, run here. Imports the keeper's spelling of paths, and what reads artifacts. */
export { unpackBundle, type Description, confirm, meaningOf, runRevert, type ScriptEnd } from './bundle.ts';
