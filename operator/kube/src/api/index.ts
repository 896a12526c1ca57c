/** Names and shapes of the Kubernetes API as plain JSON. Imports nothing of this package. */
export {
  parseSelector,
  type LabelRequirement,
  type LabelSelector,
  formatSelector,
  labelMatcher,
  matchesLabels,
  requirementsOf,
} from './selector.ts';
export {
  type Declaration,
  type KubeObject,
  type ManagedFields,
  type ObjectKey,
  type ObjectMeta,
  type ObjectName,
  type OwnerReference,
  keyOf,
  parseKey,
  type Resource,
  collectionPath,
  defineResource,
  objectPath,
  resourceName,
  atLeast,
  compareVersions,
} from './resource.ts';
