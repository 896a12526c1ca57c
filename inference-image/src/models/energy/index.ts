/**
 * The energy model: rates an act by its text and measurements. Weights are made by `train/energy`. Part of `models`:
 * may import protocol.
 */
export { loadEnergyModel, type EnergyScorer, type EnergyWeights } from './scorer.ts';
