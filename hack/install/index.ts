/** The fleet on a cluster, installed as its users do it: by the Helm chart. Imports `hack/sandbox` for kubectl, and protocol. */
export { chart, chartValues, installFleet, release, uninstallFleet, type InstallEnvironment } from './install.ts';
export { helm } from './helm.ts';
