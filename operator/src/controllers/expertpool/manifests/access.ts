import type { V1PolicyRule } from '@kubernetes/client-node';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { briefName, workerServiceAccount } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { homeOf, owned, type Manifest } from '../../../operands/manifest.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

/** What workers may do in the namespace of their pool. The operator must hold all of it itself (see rbac.test.ts). Pure. */
export function workerRules(brief: string, serviceAccount: string): V1PolicyRule[] {
  return [
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [brief], verbs: ['get', 'list', 'watch'] },
    // A name cannot be demanded of what is created.
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
    // Tokens with the audience of a sandbox, of the own account alone.
    { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [serviceAccount], verbs: ['create'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ];
}

/** ServiceAccount, Role and RoleBinding of the workers in the namespace of the pool. Pure. */
export function workerAccess(pool: ExpertPool): readonly Manifest[] {
  const name = workerServiceAccount(pool.metadata.name);
  const identity = { name, component: 'worker' } as const;
  return [
    owned(pool, resources.serviceAccounts, identity, { automountServiceAccountToken: false }),
    owned(pool, resources.roles, identity, { rules: workerRules(briefName(pool.metadata.name), name) }),
    owned(pool, resources.roleBindings, identity, {
      roleRef: { apiGroup: rbacGroup, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: homeOf(pool) }],
    }),
  ];
}
