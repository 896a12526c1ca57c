// test, ui: RBAC rules of viewers and editors of the dashboard. May import any package.

/** Rights of those who look: as the ClusterRoles of the chart give them. */
export const viewer = [
  { apiGroups: ['agentfleet.dev'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['results.agentfleet.dev'], resources: ['*'], verbs: ['get'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list'] },
] as const;
export const editor = [...viewer, { apiGroups: ['agentfleet.dev'], resources: ['*'], verbs: ['create', 'patch', 'update'] }] as const;
