/**
 * The vocabulary of our custom resources: every schema is made from these words, so that bounds, descriptions and
 * Kubernetes' extensions cannot be forgotten. Imports TypeBox only.
 */
export * from './mutability.ts';
export {
  HostPort,
  hostName,
  isRelativePath,
  labelName,
  objectName,
  reference,
  relativePath,
  type TextOptions,
  byteQuantity,
  choice,
  counter,
  decimal,
  digest,
  flag,
  integer,
  maxSafeInteger,
  money,
  probability,
  resourceQuantity,
  snapshotId,
  text,
  timestamp,
  weight,
  type ListOptions,
  type StructOptions,
  atomicList,
  listByKey,
  mapOf,
  setOf,
  struct,
  type Members,
  type UnionOf,
  memberName,
  union,
} from './scalars.ts';
export * from './rule.ts';
