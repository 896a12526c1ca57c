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

export const widgets = defineResource<Widget>('contract.example.com/v1', 'Widget', 'widgets');

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const configMaps = defineResource<ConfigMap>('v1', 'ConfigMap', 'configmaps');
export const namespaces = defineResource('v1', 'Namespace', 'namespaces', false);

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
