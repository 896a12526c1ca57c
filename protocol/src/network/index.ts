/** Addresses that an egress guard judges: what a written host means, and where an address lies. Imports nothing. */
export {
  addressScopes,
  createAddressJudge,
  literalAddress,
  type AddressJudge,
  type AddressScope,
  type AddressRanges,
} from './addresses.ts';
