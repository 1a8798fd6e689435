import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { identityHeaders, passedBack, passedOn, userHeaders } from './identity.ts';

describe('headers for another server', () => {
  it('never hold what the client says of its identity, its credentials or its connection', () => {
    const isIdentity = identityHeaders({
      clientCa: '',
      usernameHeaders: ['X-My-User'],
      extraHeaderPrefixes: ['X-My-'],
    });
    const passed = passedOn(
      {
        ':path': '/x',
        accept: 'application/json',
        authorization: 'Bearer t',
        connection: 'close, X-Secret',
        host: 'h',
        'impersonate-user': 'root',
        upgrade: 'websocket',
        'x-my-user': 'root',
        'x-my-scope': 'all',
        'x-remote-extra-scopes': 'all',
        'x-remote-group': 'system:masters',
        'x-remote-user': 'root',
        'x-remote-uid': '0',
        'x-secret': 'of this connection',
        'user-agent': 'kubectl',
      },
      isIdentity,
    );
    assert.deepEqual(passed, { accept: 'application/json', 'user-agent': 'kubectl' });
  });

  it('name the user, with keys escaped and values in UTF-8', () => {
    const headers = userHeaders({
      name: 'Zoë',
      uid: '7',
      groups: ['a', 'b'],
      extra: { 'Example.org/Scopes': ['x'], empty: [] },
    });
    assert.deepEqual(headers, {
      'x-remote-user': Buffer.from('Zoë').toString('latin1'),
      'x-remote-uid': '7',
      'x-remote-group': ['a', 'b'],
      'x-remote-extra-example.org%2Fscopes': ['x'],
    });
  });

  it('cannot be forged by line ends within a name', () => {
    assert.throws(() => userHeaders({ name: 'a\r\nX-Remote-Group: system:masters', groups: [] }), {
      name: 'StatusError',
    });
  });

  it('of an answer are kept but for the connection’s own', () => {
    assert.deepEqual(passedBack({ etag: '"x"', 'transfer-encoding': 'chunked', connection: 'close' }), { etag: '"x"' });
  });
});
