import { resultsApi } from '@agentfleet/protocol/results';

const { group, version, apiVersion, path: versionPath } = resultsApi;
const groupPath = `/apis/${group}`;
const served = { groupVersion: apiVersion, version };
const apiGroup = { kind: 'APIGroup', apiVersion: 'v1', name: group, versions: [served], preferredVersion: served };

const part = (name: string, kind: string): object => ({
  name: `agenttasks/${name}`,
  singularName: '',
  namespaced: true,
  kind,
  verbs: ['get'],
});

const documents: Readonly<Record<string, object>> = {
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [apiGroup] },
  [groupPath]: apiGroup,
  [versionPath]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersion,
    resources: [part('log', 'TaskLog'), part('conversation', 'TaskConversation'), part('artifacts', 'ArtifactList')],
  },
};

/** What clients find the API by; undefined: the path is no such document. */
export function discovery(path: string): object | undefined {
  return Object.hasOwn(documents, path) ? documents[path] : undefined;
}
