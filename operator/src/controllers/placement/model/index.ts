/**
 * Words of the placement controller: the cluster's GPUs as it sees them, who wants some, and what they are given. Types, and no logic.
 * Part of `controllers/placement`: may import `controllers/agenttask`, `operands`, `revisions`, `pools`, `serving`, `runtime`, `placement`, `rollout`;
 * of packages protocol and kube.
 */
import type { OwnerReference, KubeObject } from '@agentfleet/kube';
import {
  type Injection,
  type LatencyClass,
  type Link,
  type MigSlice,
  type Mode,
  type NvlinkRule,
  type Rank,
  type Sharing,
  type SlotBinding,
  type Traffic,
} from '../../../placement/index.ts';
import type { GpuDriver } from '../../../runtime/context.ts';
import type { DeviceClass, Node, Pod, PublishedSlice } from '../../../runtime/resources.ts';
import type { EnergyModel, ExpertPool, PlanStatus } from '@agentfleet/protocol/api';

/** A taint that a human saw. */
export interface Acknowledged {
  readonly key: string;
  /** Since when the driver reports it; another one is another taint. */
  readonly since: string | undefined;
}

/** The GPUs of the cluster, as the caches showed them. */
export interface ClusterView {
  readonly driver: GpuDriver;
  /** Whether the cluster serves `resource.k8s.io/v1`. */
  readonly resourceApi: boolean;
  readonly slices: readonly PublishedSlice[];
  readonly deviceClasses: readonly DeviceClass[];
  readonly nodes: readonly Node[];
  /** Whether there is a RuntimeClass nvidia. */
  readonly runtimeClass: boolean;
  readonly book: SlotBook;
  /** Bindings that claims and plans record, for the case that the book is lost. */
  readonly recorded: readonly SlotBinding[];
  /** Pods that hold GPUs. */
  readonly holders: readonly HolderView[];
}

/** A GPU that engines may be put on. */
export interface PlanSlot {
  readonly name: string;
  readonly node: string;
  readonly uuid: string | undefined;
  readonly pciBusID: string | undefined;
  readonly usableBytes: number;
  /** Reason why no new engine may be put there, with the cure. */
  readonly fault:
    | {
        readonly reason:
          | 'SlotTainted'
          | 'SlotGone'
          | 'SlotRebound'
          | 'SlotPartitioned'
          | 'SlotPending'
          | 'SlotNotHeld'
          | 'NodeCordoned'
          | 'NodeUnschedulable'
          | 'Conflict';
        readonly message: string;
      }
    | undefined;
  /** A DRA driver publishes it. */
  readonly published: boolean;
  readonly sharedByBytes: boolean;
  /** A device plugin hands it out. */
  readonly counted: boolean;
  /** The pod that holds it, when it has the very board that the slot stands for. */
  readonly holder: { readonly uid: string; readonly namespace: string } | undefined;
  /** Reason why the pod that is to hold it does not get on. */
  readonly trouble?: string;
  /** Keys of taints that a human has acknowledged. */
  readonly tolerated?: readonly string[];
  /** Set for a MIG slice: it has memory of its own and no way to other GPUs. */
  readonly mig?: MigSlice;
}

/** All that is known about the cluster's GPUs. */
export interface Inventory extends Pick<ClusterView, 'driver' | 'resourceApi' | 'runtimeClass'> {
  readonly slots: readonly PlanSlot[];
  /** Bindings that are to be written down. */
  readonly bindings: readonly SlotBinding[];
  readonly links: readonly Link[];
  readonly deviceClass: boolean;
  /** Whether there is the class of MIG slices. */
  readonly migDeviceClass: boolean;
  readonly pluginGpus: ReadonlyMap<string, number>;
  /** Nodes whose device plugin gives one GPU to several pods. */
  readonly sharing: readonly string[];
  readonly injections: Injections;
  /** Nodes whose GPUs two stacks hand out, with the cure. */
  readonly conflicts: ReadonlyMap<string, string>;
  /** Rules by which slots are to be shared, and the lines that have no effect. */
  readonly lines: SharingLines;
  /** Nodes whose device plugin hands out MIG slices, with the reason why they are no slots. */
  readonly pluginSlices: ReadonlyMap<string, string>;
  /** GPUs and lines that are not used, each with the reason. */
  readonly problems: readonly string[];
}

/** Place that an engine may have that is tried beside the one that serves. */
export interface CanaryRequest {
  /** Item of the one that serves; undefined when it has none. */
  readonly beside: string | undefined;
  /** Whether the spec names another place for it than for the one that serves: then it goes nowhere else. */
  readonly elsewhere: boolean;
}

/** An engine that is to sit on a GPU. */
export interface PlacementRequest {
  readonly item: string;
  readonly demand: Demand;
  /** Its pods. */
  readonly replicas: number;
  readonly slot: string | undefined;
  /** GPUs that share its weights; default 1. Its demand is for each of them. */
  readonly shards?: number;
  /** These, when the user names them. */
  readonly slots?: readonly string[];
  /** Slots that it may be on, when only some come into question now. */
  readonly among?: readonly string[];
  /** Whether it stays on a sound slot for as long as it has one, whatever the spec names: where a revision came up. */
  readonly stays?: boolean;
  /** Whether its pods are gone from the cordoned node on which it has its place: it goes elsewhere, or waits for the node. */
  readonly drained?: boolean;
  /** Whether its weights are on a volume that one node mounts at a time: it leaves no node for being drained. */
  readonly bound?: boolean;
  /** Set for one that is tried: it comes last and moves no other. */
  readonly canary?: CanaryRequest;
  /** Bytes that it needs beyond the estimate, as its engine reports: kept free where there is room. */
  readonly more?: number;
  readonly rank: Rank;
  readonly latency: LatencyClass;
  readonly exclusive: boolean;
  readonly group: string | undefined;
  /** Items of the same owner, and `EnergyModel`. */
  readonly apart: readonly string[];
}

/** A pool or a model whose engines sit on GPUs. */
export interface Owner {
  /** Kind, namespace and name: the order in which owners are served when they are of one age. */
  readonly key: string;
  readonly kind: 'ExpertPool' | 'EnergyModel';
  readonly object: KubeObject & { readonly status?: ExpertPool['status'] | EnergyModel['status'] };
  readonly namespace: string;
  readonly name: string;
  readonly requests: readonly PlacementRequest[];
  readonly traffic: readonly Traffic[];
  readonly mode: Mode | 'Auto';
  readonly nvlink: NvlinkRule;
  /** The plan in force. */
  readonly plan: PlanStatus | undefined;
  readonly going: boolean;
  /** Whether it is unknown what it needs until more is seen: all stays as it is. */
  readonly unknown?: boolean;
  /** Of a pool: the verifier that it names. */
  readonly verifier: string | undefined;
  /** Whether some of its engines lost their shares of a GPU that is there. */
  readonly hit?: boolean;
}

export type Assignment = PlanStatus['assignments'][number];

/** An owner and what it has. */
export interface Holder {
  readonly owner: Owner;
  readonly assignments: readonly Assignment[];
  /** Engines that are asked to end. */
  readonly ending?: ReadonlySet<string>;
  /** Mode by which its engines get at their GPUs. */
  readonly mode?: Mode | undefined;
  /** For which engines its own ones wait, in words. */
  readonly waits?: readonly string[];
}

/** Place in which an engine is to be. */
export type Place = Pick<Assignment, 'item' | 'slot' | 'bytes'>;

export type Rejection = NonNullable<PlanStatus['rejected']>[number];

/** Result of planning for the engines of one owner. */
export interface OwnerPlan {
  readonly plan: PlanStatus;
  /** Engines that want a GPU and have none. */
  readonly unplaced: readonly string[];
  /** Engines on a slot that cannot be used now; they wait there. */
  readonly stuck: readonly Assignment[];
  readonly modeLack: string | undefined;
  /** Better modes that cannot be used, and what each lacks. */
  readonly skipped: readonly { readonly mode: Mode; readonly reason: string }[];
  /** Engines that are asked to end: they keep their places until their pods are gone. */
  readonly ending: ReadonlySet<string>;
  /** Nodes that a probe pod has to ask. */
  readonly asks: readonly string[];
  /** As `Holder.waits`, once it is decided who may start. */
  readonly waits?: readonly string[];
}

/** Answer of a node that a pod asked for GPUs by environment. */
export interface ProbeAnswer {
  readonly node: string;
  readonly answer: Injection;
  /** Life of the node in which it answered. */
  readonly boot: string;
  /** RFC 3339. */
  readonly at: string;
}

/** The administrator's settings of how slots are shared. */
export interface SharingLines {
  readonly rules: ReadonlyMap<string, Sharing>;
  readonly faults: readonly SharingFault[];
  /** Slots whose tenants may be started again for the line as it is. */
  readonly asked: ReadonlySet<string>;
}

/** A pod that holds a GPU, as decisions see it. */
export interface HolderView {
  /** The slot that it is for. */
  readonly slot: string;
  readonly namespace: string;
  readonly uid: string;
  /** Whether it has the GPU and keeps it. */
  readonly alive: boolean;
  /** GPU that the device plugin gave it; undefined while it does not report one. */
  readonly reported: Omit<SlotBinding, 'slot'> | undefined;
  /** Reason why it does not know its GPU. */
  readonly error: string | undefined;
  readonly pod: Pod;
}

/** Facts that are known about nodes. */
export interface Injections {
  readonly known: ReadonlyMap<string, Injection>;
  /** Nodes whose answer is of an earlier life: it counts until there is another one. */
  readonly stale: ReadonlySet<string>;
}

/** Bytes that an engine needs on each of its slots with all its pods, or why that is not known or cannot be. */
export type Demand = { readonly bytes: number } | { readonly lack: string; readonly reason?: 'NotDivisible' | 'DraftVocabulary' };

/** A line of `data.sharing` that sets nothing, and why. */
export interface SharingFault {
  /** The slot that it seems to be about. */
  readonly slot: string;
  readonly message: string;
}

/** Contents of the ConfigMap. */
export interface SlotBook {
  readonly bindings: readonly SlotBinding[];
  readonly approved: ReadonlyMap<string, string>;
  /** Taints that a human has seen. */
  readonly acknowledged: Acknowledgements;
  readonly links: readonly Link[];
  readonly probes: readonly ProbeAnswer[];
  /** Settings by which tenants of a slot share it. */
  readonly sharing: SharingLines;
  /** Report in the book on GPUs and lines that are not used. */
  readonly problems: string;
}

export type Acknowledgements = ReadonlyMap<string, readonly Acknowledged[]>;

/** Several share a claim: it goes with the last of them. */
export function referenceOf({ object }: Owner): OwnerReference {
  const { apiVersion = '', kind = '', metadata } = object;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: false, blockOwnerDeletion: false };
}
