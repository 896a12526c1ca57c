// protocol, api/base: API group, version and field managers. May import api/schema and the layers below api.

/** API group of all custom resources. */
export const group = 'agentfleet.dev';

/** The one served and stored version. */
export const version = 'v1alpha1';

/** `apiVersion` of every object of the group. */
export const apiVersion = `${group}/${version}` as const;

/** Names under which the parts write by server-side apply; they are part of the API and never change. */
export const fieldManagers = {
  operator: 'agentfleet-operator',
  worker: 'agentfleet-worker',
  placement: 'agentfleet-placement',
} as const;
