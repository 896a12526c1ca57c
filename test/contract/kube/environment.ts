import type { KubeObject, Transport } from '@agentfleet/kube';
import { defineResource } from '@agentfleet/kube';

/** A custom resource with status subresource and selectable fields. */
export interface Widget extends KubeObject {
  readonly spec?: {
    readonly size?: number;
    readonly owner?: string;
    readonly parts?: readonly { readonly name: string; readonly count?: number }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly lastTransitionTime: string;
    }[];
  };
}

export const widgets = defineResource<Widget>({
  group: 'contract.example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
});

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const configMaps = defineResource<ConfigMap>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});
export const namespaces = defineResource({ group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false });

/** A server to run the suite on. */
export interface Environment {
  readonly transport: Transport;
  /** Exists and is empty. */
  readonly namespace: string;
  /** False where only an API server runs: garbage is not collected and namespaces are not emptied. */
  readonly controllers: boolean;
  /** Deletes the definition of widgets, and resolves when its paths are gone. */
  readonly withdraw: () => Promise<void>;
  /** Makes the definition of widgets, and resolves when it is served. */
  readonly define: () => Promise<void>;
  close(): Promise<void>;
}
