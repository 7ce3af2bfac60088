/**
 * Maximum lines of each room. A ceiling rises only in a commit whose body says by how much and for which order:
 * `Size: src/http +120, for the search of members`. A ceiling falls with its room.
 */
export const CEILINGS: Readonly<Record<string, number>> = {
  'src/access': 860,
  'src/adapters': 8940,
  'src/app': 7130,
  'src/as-of': 770,
  'src/auth': 3100,
  'src/base': 1460,
  'src/cli': 7790,
  'src/commands': 3020,
  'src/config': 2650,
  'src/contract': 3020,
  'src/evaluation': 940,
  'src/events': 2450,
  'src/history': 1860,
  'src/http': 15_320,
  'src/jobs': 940,
  'src/ledger': 2320,
  'src/projections': 4860,
  'src/verifier': 2790,
  'ui/src': 23_230,
  test: 98_830,
}
