// protocol, api/reasons: catalogue of reasons about placement on GPUs, with cures. Imports nothing of other folders.
import type { ReasonEntry } from './entry.ts';

/** Reasons of PlacementFeasible, PlacementConflict and PlacementSharing. */
export const placementReasons = {
  Apart: ['Two engines that may not share a GPU would.', 'take another slot, or loosen spec.placement.antiAffinity'],
  Applied: ['GPUs are shared as asked for.'],
  Exclusive: ['An engine shares its GPU with nobody.', 'take another slot, or loosen spec.placement.antiAffinity'],
  GroupElsewhere: ['A draft and its target are on different slots.', 'give both the same'],
  HeldElsewhere: ['Engines of another namespace are on the slot.', 'take another slot'],
  LimitTooLow: ['An engine was given more memory than one process may take.', 'raise the limit in data.sharing, or give a smaller budget'],
  NextClaim: ['A change of sharing waits for the next claim.', 'annotate the ConfigMap as the message says to apply it now'],
  NoConflict: ['One stack hands out the GPUs.'],
  NodeCordoned: [
    'The node of the slot is cordoned: engines that run stay, none comes, and one that was evicted waits if it has no other place.',
    'kubectl uncordon the node; or name a slot of another one, or none',
  ],
  NodeUnschedulable: [
    'The node of the slot is not ready, or its memory or disk is full: engines stay, and none comes.',
    'see to the node, or name a slot of another one',
  ],
  NoEffect: ['A line of data.sharing has no effect.', 'see the message'],
  NoGPUs: ['No GPU is known.', 'install a DRA driver or a device plugin'],
  NoMode: ['No mode gives engines their GPUs.', 'see the message'],
  NotAllowed: ['The engine may not be on the slot.', 'name another slot, or none'],
  DraftVocabulary: ['Draft and target have vocabularies of different sizes: vLLM refuses to start.', 'take a draft of the same vocab_size'],
  NotDivisible: ['The number of GPUs does not divide the model.', 'take a number that divides it'],
  NotEnoughMemory: ['No slot has enough memory.', 'give smaller budgets, fewer tokens or another slot'],
  NotJoined: ['No NVLink joins the GPUs of an engine that spans several.', 'declare links, or lower tensorParallel'],
  NotLinked: ['No NVLink joins an engine to its target.', 'give both one slot, or set spec.placement.nvlink to Preferred'],
  Placed: ['All engines have a place.'],
  PlacementConflict: ['Two stacks hand out the GPU.', 'remove one of them'],
  SizeUnknown: ['The size of an engine is not known.', 'wait until the weights are read, or give the budget in bytes'],
  SlotGone: ['The GPU of the slot is gone.', 'bring it back, or name another slot'],
  SlotNotHeld: ['The pod that is to hold the slot does not get on.', 'see the message'],
  SlotPartitioned: ['The board is divided into MIG slices.', 'name one of them'],
  SlotPending: [
    'The driver of the node has published a part of its GPUs: engines stay, and none comes.',
    'wait for the driver, or start it anew',
  ],
  SlotRebound: ['Another GPU is in the place of the slot.', 'approve the new one as the message says, or put the old one back'],
  SlotTainted: ['The driver taints the GPU.', 'see to the device, or acknowledge the taint'],
  TwoStacks: ['Two stacks hand out the GPUs of a node.', 'remove one of them'],
  Unhealthy: ['The device is not healthy.', 'see to the device'],
  UnknownSlot: ['There is no slot of that name.', 'correct it: ConfigMap agentfleet-slots lists all'],
} as const satisfies Readonly<Record<string, ReasonEntry>>;
