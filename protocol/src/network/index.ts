/** Addresses that an egress guard judges: the meaning of a written host, and the scope of an address. Imports nothing. */
export {
  addressScopes,
  createAddressJudge,
  literalAddress,
  type AddressJudge,
  type AddressScope,
  type AddressRanges,
} from './addresses.ts';
