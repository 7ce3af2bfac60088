import { counted } from './common.ts'

export const flags = {
  things: 'flags',
  thing: 'flag',
  heading: 'Flags',
  search: 'Search flags',
  type: 'Type',
  types: { '': 'All types', BOOLEAN: 'Boolean', VARIANT: 'Variant' },
  state: 'State',
  states: { '': 'All states', true: 'On or default true', false: 'Off or default false' },
  create: 'New flag',
  columns: { flag: 'Flag', type: 'Type', state: 'State', targeting: 'Targeting', changed: 'Changed' },
  stateOf: (type: string, enabled: boolean) =>
    type === 'BOOLEAN_FLAG_TYPE' ? (enabled ? 'Default true' : 'Default false') : enabled ? 'On' : 'Off',
  typeOf: (type: string) => (type === 'BOOLEAN_FLAG_TYPE' ? 'Boolean' : 'Variant'),
  none: 'No flags yet',
  noneWhy: 'A flag answers true or false, or one of several variants, for each entity that asks.',
  share: (percentage: string, value: string) => `${percentage} % → ${value}`,
  ofSegments: (keys: string, value: string) => `${keys} → ${value}`,
  rules: (n: number) => counted(n, 'rule', 'rules'),
  default: (key: string) => `default ${key}`,
  more: (n: number) => `+${n}`,
}
