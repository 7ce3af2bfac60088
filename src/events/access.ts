import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { grants, list, meanings, object, oneOf, text, truth, word } from './fields.ts'
import { METHODS } from './token.ts'

const open = (group: string) => truth(`True if no credential is required for \`${group}\`.`)
const names = (description: string, unit: string) =>
  Type.Optional(Type.Immutable(list(description, text('A value.', unit))))

/** Access configuration. One stream for the whole history: access-main. */
export const accessEvents = {
  AccessConfigured: v1(
    object(
      'The access configuration changed: an instance started with a configuration that differs from the last recorded one. The revision of this event is the `policy` of tokens issued under it.',
      {
        version: word('The version of the software.', 'Semantic Versioning'),
        required: truth('Whether requests need a credential.'),
        exclude: object('Route groups that need no credential.', {
          management: open('/api/v1'),
          evaluation: open('/evaluate/v1'),
          ofrep: open('/ofrep'),
        }),
        requireRole: truth('Whether a new static token must have a role or grants.'),
        roles: meanings('Rights of each role, built-in and configured.'),
        rules: Type.Immutable(
          list(
            'Rules that grant rights to logins and exchanges. Without rules and without `unmatched`, logins and exchanges may do everything.',
            object('A rule.', {
              name: word('The name of the rule.', 'name of a rule'),
              method: oneOf(
                'Login or exchange method that the rule applies to.',
                METHODS.filter((method) => method !== 'token'),
              ),
              provider: Type.Optional(word('The provider.', 'name of a provider in the configuration')),
              claim: Type.Optional(word('The claim that the rule compares.', 'name of a claim, or JSON Pointer')),
              anyOf: names(
                'Values of the claim that match. For the claims `email`, `name` and `preferred_username` they are pseudonyms: `claim-` and 22 characters; for `sub`: `sub-` and 22 characters.',
                'value of a claim, or pseudonym',
              ),
              organizations: names('The organizations whose members match.', 'organization at the code host'),
              teams: names('The teams whose members match.', '`<organization>/<team>`'),
              namespaces: names('The namespaces of the service accounts that match.', 'namespace, or `*` for any'),
              serviceAccounts: names('The service accounts that match.', 'name, or `*` for any'),
              grants: grants(
                'Grants of the rule. `{namespace}` in place of a namespace stands for the namespace of the service account.',
              ),
            }),
          ),
        ),
        unmatched: Type.Optional(
          grants(
            'Grants of logins and exchanges that match no rule. Empty: they get no rights, even if no rules exist. Absent: they get no rights if rules exist, and all rights if no rules exist.',
          ),
        ),
        assumeVerified: names(
          'Providers whose e-mail addresses count as verified if the provider sends no `email_verified`.',
          'name of a provider in the configuration',
        ),
      },
    ),
    2,
  ),
}

export type AccessEvent = EventOf<typeof accessEvents>
