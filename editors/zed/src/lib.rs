//! Starts `ptx-tc lsp` for Zed. Everything else is the server's business.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{
    register_extension, serde_json, Command, Extension, LanguageServerId, Result, Worktree,
};

struct Ptx;

impl Extension for Ptx {
    fn new() -> Self {
        Self
    }

    fn language_server_command(&mut self, id: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(id.as_ref(), worktree)?.binary;
        let path = binary.and_then(|binary| binary.path).or_else(|| worktree.which("ptx-tc"));
        Ok(Command {
            command: path.ok_or("`ptx-tc` is not in the PATH")?,
            args: vec!["lsp".to_owned()],
            env: worktree.shell_env(),
        })
    }

    fn language_server_initialization_options(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        Ok(LspSettings::for_worktree(id.as_ref(), worktree)?.settings)
    }

    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree)?.settings;
        Ok(settings.map(|settings| serde_json::json!({ "ptx-tc": settings })))
    }
}

register_extension!(Ptx);
