import { isGoverned } from '../access/rules.ts'
import type { Method } from '../events/token.ts'
import { didYouMean } from './did-you-mean.ts'
import type { Config } from './settings.ts'

/** A way in: the word that says that it is open on purpose, whether it is open, and who then comes in by it. */
type OpenAccessWarning = { readonly word: string; readonly open: boolean; readonly sentence: string }

const base = 'authentication.methods'

/** The doors of each method. */
const ofMethods = ({
  authentication: {
    methods: { oidc, codehost, orchestrator },
  },
  authorization,
}: Config): Readonly<Record<Method, readonly OpenAccessWarning[]>> => ({
  token: [],
  oidc: Array.from(oidc.providers.keys(), (name) => ({
    word: `oidc.${name}`,
    open: oidc.enabled && oidc.email_matches.length === 0,
    sentence: `${base}.oidc.email_matches is empty, so everybody with an account at the provider ${name} can log in`,
  })),
  codehost: [
    {
      word: 'codehost',
      open: codehost.enabled && codehost.allowed_organizations.length === 0,
      sentence: `${base}.codehost.allowed_organizations is empty, so everybody with an account at the code host can log in`,
    },
  ],
  orchestrator: [
    {
      word: 'orchestrator',
      open: orchestrator.enabled && orchestrator.allowed.length === 0,
      sentence: `${base}.orchestrator.allowed is empty, so every service account of the cluster gets a token ${isGoverned(authorization) ? 'with what authorization.rules grant' : 'without bounds'}`,
    },
  ],
})

/** Every door there can be in this configuration. */
const named = (config: Config): readonly OpenAccessWarning[] => {
  const { required, exclude } = config.authentication
  return [
    {
      word: 'required',
      open: !required,
      sentence: 'authentication.required is false, so nobody needs a credential, not even to make tokens',
    },
    ...(['management', 'evaluation', 'ofrep'] as const).map((group) => ({
      word: `exclude.${group}`,
      open: required && exclude[group],
      sentence: `authentication.exclude.${group} is true, so nobody needs a credential for that group`,
    })),
    ...Object.values(ofMethods(config)).flat(),
    // Whether headers come is seen at run time only.
    { word: 'forwarded', open: false, sentence: '' },
  ]
}

/** What is wrong with the words of `authentication.open_on_purpose`, if anything. */
export const unknownWarnings = (config: Config): string | false => {
  const known = named(config).map(({ word }) => word)
  const unknown = config.authentication.open_on_purpose.filter((word) => !known.includes(word))
  return (
    unknown.length > 0 &&
    unknown.map((word) => `"${word}" is not a door of this configuration${didYouMean(word, known)}`).join(', ')
  )
}

/** What to log about open doors: a warning for each that the configuration does not declare as meant, a note for the others. */
export const openAccessWarnings = (
  config: Config,
): { readonly warnings: readonly string[]; readonly meant: readonly string[] } => {
  const isMeant = ({ word }: OpenAccessWarning) => config.authentication.open_on_purpose.includes(word)
  const doors = named(config).filter(({ open }) => open)
  return {
    warnings: doors
      .filter((door) => !isMeant(door))
      .map(({ word, sentence }) => `${sentence}; if that is meant, name ${word} in authentication.open_on_purpose`),
    meant: doors
      .filter(isMeant)
      .map(({ word, sentence }) => `${sentence}, as authentication.open_on_purpose says (${word})`),
  }
}
