// How pods get at the GPUs of their slots: claims of the scheduler, reserved GPUs, whole GPUs. Pure.
export {
  chooseMode,
  modes,
  type Injection,
  type Mode,
  type ModeChoice,
  type ModeFacts,
  type SkippedMode,
  type SlotFacts,
} from './ladder.ts';
export {
  gpuRuntimeClass,
  gpuTolerations,
  hostname,
  podPlacementOf,
  withoutGpu,
  type EnvVar,
  type PodPlacement,
  type PodSlot,
  type Toleration,
} from './podPlacement.ts';
export { sharingDriver, sharingInName, sharingSuffix, sharingText, timeSlices, type Sharing, type TimeSlice } from './sharing.ts';
export {
  annotationOf,
  bindingOf,
  busAnnotation,
  holderAnnotation,
  renderShareClaim,
  renderSlotClaim,
  slotClaimName,
  slotLabel,
  slotRequest,
  uuidAnnotation,
  valuesIn,
  type SlotClaim,
  type SlotClaimOptions,
} from './slotClaim.ts';
