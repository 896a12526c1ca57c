// How pods get at the GPUs of their slots, from claims of the scheduler down to a plain environment. Pure.
export { chooseMode, modes, type Mode, type ModeChoice, type ModeFacts, type SkippedMode } from './ladder.ts';
export { podPlacementOf, withoutGpu, type EnvVar, type PodPlacement, type PodSlot } from './podPlacement.ts';
export {
  bindingOf,
  renderShareClaim,
  renderSlotClaim,
  slotClaimName,
  slotLabel,
  slotRequest,
  uuidAnnotation,
  type SlotClaim,
  type SlotClaimOptions,
} from './slotClaim.ts';
