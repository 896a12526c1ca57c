/** EnergyModels: the pods that score, and what they report. Imports what pools are made with: children, manifests, notes. */
export { createEnergyModelController } from './controller.ts';
