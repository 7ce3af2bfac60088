import { useEffect } from 'react'
import { tellSession } from '../tabs.ts'
import { login } from '../words/login.ts'

/** Last page of a sign-in in a separate tab; notifies the tab that waits for it. */
export const SignedIn = () => {
  useEffect(() => tellSession('session'), [])
  return (
    <main className="login">
      <div>
        <h1>{login.title}</h1>
        <p>{login.signedIn}</p>
      </div>
    </main>
  )
}
