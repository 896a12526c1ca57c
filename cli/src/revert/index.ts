/** A revert bundle of the keeper, run here. May import `base`, `evidence`, protocol and the keeper's spelling of paths. */
export { unpackBundle, type Description, confirm, meaningOf, runRevert, type ScriptEnd } from './bundle.ts';
