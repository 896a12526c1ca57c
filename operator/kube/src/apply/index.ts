/** Writes: apply without needless ones, owners, finalizers. Imports api, client, runtime. */
export {
  type AppliedView,
  Applier,
  type ApplierOptions,
  type ApplyResult,
  canonical,
  contains,
  contentHash,
  hasFinalizer,
  removeFinalizer,
  controllerOf,
  controllerReference,
  isControlledBy,
} from './applier.ts';
