const SUPPOSED: Readonly<Record<string, string>> = {
  'must be 3 to 200 characters': 'Free text needs 3 to 200 characters.',
  'must contain at most 20 elements': 'A qualifier takes at most 20 values.',
  'must be an RFC 3339 timestamp': 'This is not a date and time.',
}

export const filterWords = {
  search: 'Search history',
  searchHint: 'actor: type: ns: outcome: or any text',
  filters: 'Filters',
  remove: (text: string) => `Remove filter ${text}`,
  range: 'Range',
  ranges: {
    all: 'All',
    hour: 'Last hour',
    day: 'Last 24 hours',
    week: 'Last 7 days',
    month: 'Last 30 days',
    custom: 'From and to',
  },
  from: (zone: string | undefined) => (zone === undefined ? 'From' : `From (${zone})`),
  to: (zone: string | undefined) => (zone === undefined ? 'To' : `To (${zone})`),
  suggestions: 'Suggestions',
  suggested: (n: number) => (n === 1 ? '1 suggestion' : `${n} suggestions`),
  /** Sentence for a filter that the service refuses. */
  refused: (qualifier: string, description: string): string => {
    const [, value] = /^unknown value "([\s\S]*)"$/.exec(description) ?? []
    if (value !== undefined) return `This version has no ${qualifier} “${value}”. Choose one of the suggestions.`
    if (description === 'needs namespaceKey') return `“${qualifier}:” needs one namespace: add “ns:” and its key.`
    if (description === 'must be a position') return `“${qualifier}:” takes the position of an event, a whole number.`
    return SUPPOSED[description] ?? `${qualifier}: ${description}`
  },
  qualifiers: {
    actor: 'token id, or token, anonymous, system, operator',
    type: 'type of the event, * at an end',
    category: 'category of the event',
    stream: 'stream, * at the end',
    token: 'about and by one token',
    subject: 'person whose data it holds',
    ns: 'namespace',
    flag: 'flag, with ns:',
    segment: 'segment, with ns:',
    method: 'method of the token',
    provider: 'login provider',
    outcome: 'success, denied or failed',
    request: 'request id',
    correlation: 'correlation id',
    command: 'command',
    route: 'route of the request',
    after: 'after this position',
    before: 'before this position',
    afterindex: 'after this index',
    beforeindex: 'before this index',
  },
}
