/**
 * The energy model: how good an act is, by its text and what was measured. Weights are made by `train/energy`.
 * Part of `models`: may import protocol.
 */
export { loadEnergyModel, type EnergyScorer, type EnergyWeights } from './scorer.ts';
