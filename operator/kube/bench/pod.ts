function container(name: string, index: number): object {
  return {
    name,
    image: `registry.example.com/team/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
    env: Array.from({ length: 6 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value ${i} of ${index}` })),
    resources: { limits: { cpu: '2', memory: '4Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
    volumeMounts: [{ name: 'work', mountPath: '/work' }],
    terminationMessagePath: '/dev/termination-log',
    imagePullPolicy: 'IfNotPresent',
  };
}

/** A pod as clusters have them: about 5 kB, a third of it managedFields. */
export function pod(index: number, version: number): object {
  const fields = (depth: number): object =>
    Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`f:field${i}`, depth === 0 ? {} : fields(depth - 1)]));
  const condition = (type: string): object => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: '2030-01-01T00:00:00Z' });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${index}`,
      namespace: `ns-${index % 20}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(version),
      creationTimestamp: '2030-01-01T00:00:00Z',
      labels: { app: 'bench', 'app.kubernetes.io/managed-by': 'bench', shard: String(index % 8) },
      ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Owner', name: `owner-${index}`, uid: `1${index}`, controller: true }],
      managedFields: ['a', 'b'].map((manager) => ({
        manager,
        operation: 'Update',
        apiVersion: 'v1',
        time: '2030-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: fields(1),
      })),
    },
    spec: {
      containers: [container('tools', index), container('keeper', index)],
      nodeName: `node-${index % 50}`,
      volumes: [{ name: 'work', emptyDir: {} }],
    },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: ['Ready', 'Initialized', 'PodScheduled', 'ContainersReady'].map(condition) },
  };
}
