//! Encryption of connections to PostgreSQL, for whoever opens them.

use model::OpenError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sql::{ServerUrl, Tls};
use std::sync::Arc;

/// Settings of TLS for connections to `url`. With `verify-full` they accept certificates for its host of the system's authorities and those of
/// `sslrootcert`; with all other modes any certificate.
///
/// # Errors
/// [`OpenError::Unusable`] if the file of `sslrootcert` cannot be read or holds no certificate, or if no authority is known.
///
/// # Panics
/// If the provider of cryptography no longer offers the versions of TLS that are considered safe.
pub fn database_tls(url: &ServerUrl) -> Result<ClientConfig, OpenError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("ring offers the versions that are safe");
    Ok(match url.tls {
        Tls::Verify => builder.with_root_certificates(authorities(url)?).with_no_client_auth(),
        Tls::Off | Tls::Prefer | Tls::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
            .with_no_client_auth(),
    })
}

/// The system's authorities, and those of the URL's file.
fn authorities(url: &ServerUrl) -> Result<RootCertStore, OpenError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = &url.authority {
        let unusable = |why: String| OpenError::Unusable { what: file.display().to_string(), why };
        let certificates = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unusable(format!("no file of PEM certificates: {error}")))?;
        if store.add_parsable_certificates(certificates).0 == 0 {
            return Err(unusable("there is no certificate in it".into()));
        }
    }
    if store.is_empty() {
        let why = "the system has no certificates of authorities; give a file by `sslrootcert=…`".into();
        return Err(OpenError::Unusable { what: url.place(), why });
    }
    Ok(store)
}

/// `prefer` and `require` do not check the certificate.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
