// protocol, keeper: answer of `GET /v1/info`: isolation, network and keeper state. May import environment alone.

/** Strength of the wall around a command, weakest first. Each level includes the ones before it. */
export const isolationLevels = ['Container', 'Seccomp', 'Landlock', 'UserNamespace', 'RuntimeClass'] as const;
export type IsolationLevel = (typeof isolationLevels)[number];

/** Isolation that the runner found by trying it, not by reading configuration. */
export interface IsolationInfo {
  readonly level: IsolationLevel;
  readonly seccomp: boolean;
  /** Landlock ABI version in force; 0 = none. */
  readonly landlockABI: number;
  readonly userNamespace: boolean;
  readonly runtimeClass: string | null;
  /** `gVisor` or `Kata` when the kernel inside is known to be another one than the node's. */
  readonly guestKernel: string | null;
  readonly noNewPrivs: boolean;
  /** Effective capabilities of the runner, hexadecimal; `0` is what a restricted pod has. */
  readonly capEff: string;
}

export interface ProbeTarget {
  readonly name: string;
  readonly address: string;
  readonly reachable: boolean;
  /** `ECONNREFUSED`, `ETIMEDOUT`, … when it was not reachable. */
  readonly error: string | null;
}

/** Whether the NetworkPolicy really holds, seen from inside the pod. */
export interface NetworkInfo {
  readonly state: 'Probing' | 'Enforced' | 'NotEnforced';
  readonly probedAt: string | null;
  readonly targets: readonly ProbeTarget[];
}

/** Answer of `GET /v1/info`. */
export interface KeeperInfo {
  readonly version: string;
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid: string };
  /** Highest epoch seen; lower ones are refused. */
  readonly epoch: number;
  readonly ready: boolean;
  /** Reason that it is not ready, one sentence; null when it is. */
  readonly reason: string | null;
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  readonly tools: { readonly connected: boolean; readonly instance: string | null; readonly connections: number };
  readonly isolation: IsolationInfo | null;
  readonly network: NetworkInfo;
  readonly snapshots: { readonly engine: 'CAS' | 'Overlay'; readonly count: number; readonly latest: string | null };
  readonly audit: { readonly root: string; readonly records: number };
  readonly running: string | null;
}
