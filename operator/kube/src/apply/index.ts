/** Writes: apply without needless ones, owners, finalizers. Imports api, client, runtime. */
export {
  type AppliedView,
  Applier,
  type ApplierOptions,
  type ApplyResult,
  canonical,
  contains,
  contentHash,
  addFinalizer,
  hasFinalizer,
  removeFinalizer,
  controllerOf,
  controllerReference,
  isControlledBy,
  withController,
} from './applier.ts';
