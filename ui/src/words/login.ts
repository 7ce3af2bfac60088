export const login = {
  title: 'Sign in',
  continueWith: (name: string) => `Continue with ${name}`,
  opening: (name: string) => `Opening ${name}…`,
  unreachable: (name: string) => `${name} could not be reached, or is in trouble.`,
  badAddress: "The provider's address cannot be used.",
  withToken: 'Use a client token',
  token: 'Client token',
  show: 'Show token',
  submit: 'Sign in',
  sending: 'Signing in…',
  firstStart: 'If you have just installed Rollcall: the first start has logged a token as client_token.',
  failed: 'Sign-in failed',
  mistyped: 'This token contains a typing error: its checksum is wrong.',
  cutOff: 'Perhaps it was not copied completely.',
  unknown: 'This token is unknown, expired or deleted.',
  scoped: 'This token is limited to one namespace. Programs can use it, but you cannot sign in with it.',
  rightMissing: 'You cannot sign in with this token, because it lacks a right that signing in requires.',
  signedIn: 'You are signed in. You can close this tab.',
  sessionStays: (time: string) =>
    `You are signed out in this browser. The service could not end the session itself, which stays valid until ${time}.`,
  ended: 'Your session has ended',
  endedWhy: 'Sign in again to continue. The text that you have typed is kept.',
  newTab: (name: string) => `Continue with ${name} (new tab)`,
  endsAt: (time: string) => `Your session ends at ${time}.`,
  signInAgain: 'Sign in again',
  againWhy: 'The text that you have typed is kept.',
  otherIdentity: (name: string, other: string) => `You are now signed in as ${name}. You opened this page as ${other}.`,
  providerSays: ({ name, email, login }: Partial<Readonly<Record<'name' | 'email' | 'login', string>>>) => {
    const [first = 'somebody without a name', ...others] = [name, email, login].filter((text) => text !== undefined)
    return `The provider says that you are ${first}${others.length > 0 ? ` (${others.join(', ')})` : ''}.`
  },
  otherTitle: 'You are signed in under a different name',
}
