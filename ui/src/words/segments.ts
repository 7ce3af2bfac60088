import { counted, inBothZones, list, number } from './common.ts'

export const segments = {
  things: 'segments',
  thing: 'segment',
  heading: 'Segments',
  table: 'Segments',
  search: 'Search segments',
  create: 'New segment',
  columns: {
    segment: 'Segment',
    match: 'Match',
    constraints: 'Constraints',
    usedBy: 'Used by',
    changed: (zone: string) => `Changed (${zone})`,
    changedLabel: 'Changed',
  },
  none: 'No segments yet',
  noneWhy: 'A segment is a group of entities with common properties, such as a plan or a country.',
  noMatch: 'No segments match',
  flags: (n: number) => counted(n, 'flag', 'flags'),
  matches: { ALL_MATCH_TYPE: 'All of them', ANY_MATCH_TYPE: 'Any of them' },

  form: {
    match: 'Match',
    matchHint: 'Constraints are added on the next page.',
    submit: 'Create segment',
    sending: 'Creating…',
    failed: 'The segment was not created',
    created: (key: string) => `Segment ${key} created.`,
  },
}

/** Texts of the segment page. */
export const segment = {
  thing: 'segment',
  title: 'Segment',
  notFound: 'Segment',
  revision: (revision: string) => `revision ${revision}`,
  tabs: { targeting: 'Targeting', about: 'About' },

  match: 'Match',
  matches: { all: 'All of them', any: 'Any of them' },
  sentence: (all: boolean) => ({
    before: 'An entity is in this segment when',
    strong: all ? 'all' : 'any',
    after: 'of these are true:',
  }),
  constraints: 'Constraints',
  noConstraints: 'Without a constraint every entity is in this segment.',
  add: 'Add constraint',
  drop: (n: number) => `Delete constraint ${n}`,
  type: 'Type',
  types: {
    STRING_COMPARISON_TYPE: 'Text',
    NUMBER_COMPARISON_TYPE: 'Number',
    BOOLEAN_COMPARISON_TYPE: 'True or false',
    DATETIME_COMPARISON_TYPE: 'Date and time',
    ENTITY_ID_COMPARISON_TYPE: 'Entity id',
    UNKNOWN_COMPARISON_TYPE: 'Unknown',
  },
  property: 'Property',
  propertyMissing: 'Name the property.',
  operator: 'Operator',
  value: 'Value',
  valueIn: (zone: string) => `Value (${zone})`,
  valueMissing: 'Enter a value.',
  valuesHint: 'Enter adds a value. Pasted text is split at commas and line ends.',
  tooMany: (most: number, has: number) => `At most ${number(most)} values; this has ${number(has)}.`,
  notNumber: (value: string) => `${value} is not a number.`,
  never: (value: string) => `This never matches: ${value} is not a number.`,
  description: 'Description',
  wholeDay: 'Whole day',
  dayMeans: (utc: string) => `Means ${utc} UTC, when the day begins there.`,
  means: (local: string, utc: string) => `Means ${inBothZones(local, utc)}`,
  constraint: (property: string, operator: string, value: string) =>
    value === '' ? `${property} ${operator}` : `${property} ${operator} ${value}`,
  moment: (utc: string) => `${utc} UTC`,
  typed: (type: string, sentence: string) => `${type}: ${sentence}`,
  described: (sentence: string, description: string) =>
    description === '' ? sentence : `${sentence} (${description})`,
  values: (values: readonly string[], same: number) =>
    list([...values.map((value) => `“${value}”`), ...(same > 0 ? [`${number(same)} unchanged values`] : [])]),

  tryIt: {
    heading: () => 'Try it',
    about: 'Tests one entity with the constraints above, saved or not. Nothing is written.',
    entity: 'Entity id',
    submit: 'Try this entity',
    sending: 'Trying…',
    failed: 'The entity was not tried',
    inside: 'In the segment',
    outside: 'Not in it',
    results: 'Results',
    result: (matched: boolean, never: boolean | undefined) =>
      matched ? 'matches' : never ? 'does not, and no value can' : 'does not',
    stale: 'The segment or the entity has changed since. Try it again.',
  },

  usedBy: 'Used by',
  flag: 'Flag',
  where: 'Where',
  uses: (uses: readonly { readonly part: string; readonly rank: number }[]) =>
    list(uses.map(({ part, rank }) => (part === 'rule' ? `rule ${rank}` : `rollout ${rank}`))),
  unused: 'No flag uses it.',
  usages: 'flags that use it',

  change: {
    name: 'Name',
    description: 'Description',
    match: 'Match',
    added: 'New constraint',
    removed: (n: number) => `Constraint ${n} deleted`,
    changed: (n: number) => `Constraint ${n}`,
  },

  remove: {
    open: 'Delete segment',
    title: (key: string) => `Delete segment ${key}?`,
    submit: 'Delete segment',
    done: (key: string) => `Segment ${key} deleted.`,
    failed: 'The segment was not deleted',
    inUse: (key: string) => `Segment ${key} is in use`,
    inUseWhy: 'Take it out of these flags first. Nothing was deleted.',
    more: (n: number) => `and ${counted(n, 'other flag', 'other flags')}`,
  },
}
